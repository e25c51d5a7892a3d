#!/bin/bash
touch yes.txt
