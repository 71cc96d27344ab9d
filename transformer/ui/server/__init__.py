"""What stands around the pages: the server's gate and headers, what it sets up and puts away, who
a visitor is, threads, and which paths may be named. It draws nothing."""
