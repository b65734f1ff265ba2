"""Operations: long requests that a task worker carries out."""
