"""The codemods that come with jaxmigrate, one module each."""
