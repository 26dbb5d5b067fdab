#!/bin/sh
echo "by script: $1"
