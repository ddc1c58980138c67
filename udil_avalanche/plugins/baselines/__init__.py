"""The methods that UDIL is compared with."""
