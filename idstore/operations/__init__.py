"""Operations of a registry over HTTP, each declared once: `idstore.operations.declared.OPERATIONS`."""
