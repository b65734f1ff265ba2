"""What the pages of sweeps show."""
