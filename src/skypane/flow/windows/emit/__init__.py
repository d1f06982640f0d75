"""What a query sends of its windows' answers."""
