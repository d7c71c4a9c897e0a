"""What several commands need: files, folders, pictures, intervals."""
