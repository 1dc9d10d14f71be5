"""Online scheduling of training jobs: admission and elastic sizes (OASiS), migration (SpeCon)."""
