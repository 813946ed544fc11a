"""Free questions, about a job or the fleet: an investigation that goes on from one to the next."""
