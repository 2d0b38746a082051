"""`trimpoint chat`: its pure model, its screens, and the real program in a terminal."""
