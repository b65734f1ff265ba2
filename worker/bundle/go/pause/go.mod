module groundcrew.local/pause

go 1.26.8
