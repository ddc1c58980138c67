"""Many runs by one command, on this machine or on a cluster."""
