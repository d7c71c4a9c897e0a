"""What decisions an agent makes."""
