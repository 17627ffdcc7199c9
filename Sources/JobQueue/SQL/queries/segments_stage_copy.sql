COPY staged_segment FROM STDIN
