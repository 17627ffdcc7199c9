COPY staged_asset FROM STDIN
