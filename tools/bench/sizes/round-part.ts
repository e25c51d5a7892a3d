// Measures rounds of reinforcement learning as the client's `train` runs them: rollouts, their log, and one job. The
// first job over a base model also prepares its weights and compares its precision with float32.
import { train } from "../../../src/apps/client/training/train.ts";
import { present } from "../../../src/base/domain/assert.ts";
import { bytesFigure, type Figure } from "./figure.ts";
import { withIdleServer, type PartOptions } from "./part.ts";
import { servedName, type ServedModel } from "./served-model.ts";
import type { SizedModel } from "./sized-model.ts";

const answerCount = 8;
const answerLength = 64;

/** A question for each prompt of the round. */
const prompts = ["a fox", "a cat", "a bear", "an owl", "a robot", "a king", "a train", "a rabbit"].map(
  (hero) => `Tell a story about ${hero} that lives near the sea, looks for a friend, and finds one.`,
);

/** Template of the prompts. It is part of each request, because files with random weights often have none. */
const template = "{% for message in messages %}{{ message.content }}\n{% endfor %}";

/** Goals: the whole round divided by its rollouts; memory of the job besides the weights in 8 bits. */
const goal = { round: 2.2, jobBytes: 1.5e9 } as const;

export function measureRound(options: PartOptions): Promise<readonly Figure[]> {
  return withIdleServer(options, async (server) => [
    ...(await runRound("first", server, options)),
    ...(await runRound("second", server, options)),
  ]);
}

async function runRound(
  which: string,
  server: ServedModel,
  { model, say }: PartOptions,
): Promise<readonly Figure[]> {
  const trained = await server.client.model(`sizes/${which}-round`, { base: servedName });
  server.watch.restart();
  say(`the ${which} round: ${prompts.length} prompts with ${answerCount} answers of ${answerLength} tokens`);
  const { rounds } = await train(trained, {
    tasks: prompts,
    groupSize: answerCount,
    rounds: 1,
    config: jobConfig(model),
    display: false,
    request: { temperature: 1, max_tokens: answerLength, ignore_eos: true, chat_template: template },
    rollout: async (prompt, { chat }) => {
      const { choices } = await chat({ messages: [{ role: "user", content: prompt }] });
      return rewardOf(choices[0]?.message.content ?? "");
    },
    onEvent: (event) => {
      if (event.type === "job-started") say("the job");
    },
  });
  server.watch.sample();
  const { seconds } = present(rounds[0], "the report of the round");
  const jobs = [...server.watch.children.values()].filter(({ module }) => module === "child-main");
  const job = present(jobs[0], "the process of the job");
  const isLater = which === "second";
  return [
    {
      name: `${which} round ÷ its rollouts`,
      value: (seconds.rollouts + seconds.training) / seconds.rollouts,
      unit: "ratio",
      ...(isLater && { goal: { kind: "at most", value: goal.round } as const }),
    },
    { name: `${which} rollouts`, value: seconds.rollouts, unit: "s" },
    { name: `${which} job, until its version is served`, value: seconds.training, unit: "s" },
    bytesFigure(
      `${which} job's highest memory, with mapped weights`,
      job.wholeBytes,
      isLater ? model.int8Bytes + goal.jobBytes : undefined,
    ),
    bytesFigure(`${which} job's highest private memory`, job.privateBytes),
  ];
}

/** Returns the settings of a job that multiplies base weights in 8 bits if the server does so too. */
export function jobConfig({ quantize }: SizedModel): { readonly base_precision?: "int8" } {
  return quantize === "off" ? {} : { base_precision: "int8" };
}

/** Returns a reward that differs between answers, because a model learns only from groups with different rewards. */
function rewardOf(answer: string): number {
  const sum = Array.from(answer).reduce((total, letter) => total + (letter.codePointAt(0) ?? 0), 0);
  return (sum % 101) / 100;
}
