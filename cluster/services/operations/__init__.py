"""Operations: requests that take long and that a task worker carries out."""
