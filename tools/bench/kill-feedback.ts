// Kills a server at random times while clients write feedback, a webhook reports the feedback and an automatic rule
// trains on it: `node dist/tools/bench/kill-feedback.js --rounds 200 --seed 1`. Exits with status 1 if acknowledged
// feedback is missing, changed, partial or duplicated, was not reported to the webhook, or was not trained on exactly
// once.
import { parseArgs } from "node:util";
import { freshSeed } from "../../src/base/domain/random.ts";
import { killWhileWriting } from "../../test/kills/kill-while-writing.ts";

const help = `Usage: node dist/tools/bench/kill-feedback.js [flags]
Writes feedback to a server over a few connections at once: records one by one, batches of up to 2,000, replacements and purges.
A webhook is told of all of it, and its receiver fails at times; others chat with a model and say which of two answers is better,
and a standing rule trains the model on that. Kills the server (SIGKILL) after up to 1.5 s, starts it again on its data, sends
half of what was not answered once more, and compares what is stored with what was acknowledged: each record as it was
acknowledged, no batch in part, nothing twice. At the end it waits for what is under way: every event was told, under one id,
and of nothing that did not happen; every answer that was judged has trained, and once for each judgement at most.

  --rounds <count>  how many kills (default 200)
  --seed <seed>     when (default: a new one)
  --json            print JSON
  --help            print this
`;

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "200" },
    seed: { type: "string" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (values.help) process.stdout.write(help);
else await run(Number(values.seed ?? freshSeed()));

async function run(seed: number): Promise<void> {
  const log = (line: string): void => void process.stderr.write(`${line}\n`);
  const report = { seed, ...(await killWhileWriting({ seed, rounds: Number(values.rounds), log })) };
  const { rounds, acknowledged, unanswered, events, repeatedEvents, jobs, trained, faults } = report;
  process.stdout.write(
    values.json
      ? `${JSON.stringify(report, null, 2)}\n`
      : [
          `${rounds} kills, seed ${seed}: ${acknowledged} records acknowledged, ${unanswered} operations without an answer`,
          `${events} events told, ${repeatedEvents} of them more than once; ${trained} judged answers trained in ${jobs} jobs`,
          faults.length === 0 ? "nothing lost, nothing in part, nothing twice" : faults.join("\n"),
          "",
        ].join("\n"),
  );
  process.exitCode = faults.length === 0 ? 0 : 1;
}
