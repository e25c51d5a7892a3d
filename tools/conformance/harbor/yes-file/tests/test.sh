#!/bin/bash
if [ -f /app/yes.txt ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
