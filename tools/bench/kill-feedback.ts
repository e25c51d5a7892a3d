// Kills a server at random times while clients write feedback, a webhook reports it and an automatic rule trains on it:
// `node dist/tools/bench/kill-feedback.js --rounds 200 --seed 1`.
// Exits with status 1 if acknowledged feedback is missing, changed, partial or duplicated, did not reach the webhook,
// or was not trained on exactly once.
import { parseArgs } from "node:util";
import { freshSeed } from "../../src/base/domain/random.ts";
import { killWhileWriting } from "../../test/kills/kill-while-writing.ts";

const help = `Usage: node dist/tools/bench/kill-feedback.js [flags]
Writes feedback to a server over a few connections concurrently: single records, batches of up to 2,000, replacements and
purges. A webhook reports all of it to a receiver that fails at times. Other clients chat with a model and send preferences
between two answers, on which an automatic rule trains the model. Kills the server (SIGKILL) after up to 1.5 s, restarts it on
its data, repeats half of the unanswered requests, and compares the stored data with what was acknowledged: each record must
equal the acknowledged one, no batch may be partial, and nothing may be duplicated. At the end, waits for work in progress.
Then each change must have been reported under one event id and no other event; each judged answer must have been trained on,
at most once per judgement.

  --rounds <count>  number of kills (default 200)
  --seed <seed>     seed of the kill times (default: random)
  --json            print JSON
  --help            print this help
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
          `${rounds} kills, seed ${seed}: ${acknowledged} records acknowledged, ${unanswered} unanswered operations`,
          `${events} events delivered, ${repeatedEvents} of them more than once; ${trained} judged answers trained on in ${jobs} jobs`,
          faults.length === 0 ? "nothing lost, partial or duplicated" : faults.join("\n"),
          "",
        ].join("\n"),
  );
  process.exitCode = faults.length === 0 ? 0 : 1;
}
