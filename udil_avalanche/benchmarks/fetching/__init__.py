"""Downloads, and the sources of MNIST."""
