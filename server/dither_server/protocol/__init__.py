"""What requests and answers of the API have in common, whichever server carries them."""
