"""The paper's section 3: lemmas, bound and coefficients. It needs only torch."""
