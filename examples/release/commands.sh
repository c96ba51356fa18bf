#!/bin/sh
# Makes the runs of the sample anew: sh examples/release/commands.sh FOLDER MODEL
# MODEL was openai:desk-70B@http://127.0.0.1:8765/v1; another one writes other rows.
set -eu
here=$(dirname "$0")
python "$here/build.py" --papers "$1/papers"
for language in en es pt; do
  scirgen generate --domain general --papers "$1/papers/$language" --language $language \
    --model "$2" --scorer bundled:smollm2-135m --set limits.timeout_s=7000 --set limits.concurrency=200 \
    --set parse.no_extract=parse --set filter.second_reader=0 --set ask.questions_per_subject=13 --out "$1/$language"
done
scirgen generate --domain general --papers "$1/papers/en-plos" --language en --model "$2" --scorer bundled:smollm2-135m \
  --set 'generate.mix={seeking: 1}' --set ask.questions_per_subject=5 --licences cc-by,cc0 --set limits.timeout_s=7000 \
  --set limits.concurrency=600 --set filter.second_reader=0 --out "$1/en-plos"
scirgen generate --domain general --papers "$1/papers/en-infection" --language en --model "$2" --scorer bundled:smollm2-135m \
  --set 'generate.mix={seeking: 0.85, known_item: 0.15}' --set ask.questions_per_subject=5 --set probe.unanswerable=0.15 \
  --set probe.nuggets=true --licences cc-by,cc0 --set limits.timeout_s=9000 --set limits.concurrency=600 \
  --set filter.second_reader=0 --out "$1/en-infection"
python "$here/build.py" --pack "$1"   # the papers lie in $1/papers, which is no language
python "$here/build.py"
