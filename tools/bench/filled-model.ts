// Fills a model with many stored trajectories, for benchmarks of the pages and lists that show them.
import type { ServedBuild } from "./served-build.ts";

/** Number of groups per log request. */
const groupsPerLog = 250;
const trajectoriesPerGroup = 4;
const tokenCount = 20;

/**
 * Logs trajectories with rewards spread evenly from 0 to 1. Every tenth log goes to the split `val`, the others to
 * `train`.
 *
 * @returns duration in seconds
 */
export async function fillModel(
  { url, apiKey }: Pick<ServedBuild, "url" | "apiKey">,
  modelId: string,
  count: number,
): Promise<number> {
  const perLog = groupsPerLog * trajectoriesPerGroup;
  const start = performance.now();
  for (let first = 0; first < count; first += perLog) {
    const groups = Array.from({ length: groupsPerLog }, (_, group) => ({
      trajectories: Array.from({ length: trajectoriesPerGroup }, (_, index) =>
        trajectory(first + group * trajectoriesPerGroup + index),
      ),
    }));
    const split = (first / perLog) % 10 === 9 ? "val" : "train";
    const answer = await fetch(`${url}/v1/preview/models/${modelId}/log`, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ split, trajectory_groups: groups }),
    });
    if (!answer.ok) throw new Error(`A log was answered with ${answer.status}: ${await answer.text()}`);
  }
  return (performance.now() - start) / 1000;
}

function trajectory(number: number): object {
  const words = Array.from({ length: tokenCount }, (_, index) => ` word${(number * 7 + index) % 1000}`);
  const content = words.map((token, index) => ({ token, logprob: -((number + index) % 50) / 10 }));
  return {
    messages_and_choices: [
      { role: "system", content: "You answer with twenty words." },
      { role: "user", content: `Question ${number}: which words come next?` },
      {
        finish_reason: "stop",
        message: { role: "assistant", content: words.join("") },
        logprobs: { content },
        token_ids: words.map((_, index) => (number + index) % 1000),
      },
    ],
    // Scrambled, so that consecutive trajectories have different rewards.
    reward: ((number * 7919) % 100_003) / 100_003,
    metrics: { words: tokenCount, right: number % 3 === 0 },
  };
}
