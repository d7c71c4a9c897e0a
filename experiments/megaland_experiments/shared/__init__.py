"""Parts that several commands share: files, folders, pictures, intervals."""
