"""The paper's examples, table and figures."""
