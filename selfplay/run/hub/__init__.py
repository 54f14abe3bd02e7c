"""A run's adapters on the hub: `push` sends them with a card, `pull` fetches them; `client` says what may go wrong there."""
