// Compares the tokens that a job trained on with the tokens that the server recorded when it sampled them.
import { isDeepStrictEqual } from "node:util";

/**
 * Checks that a job trained on exactly the answers of the rollouts: each answer once, after the same prompt, with the
 * same tokens and log-probabilities.
 *
 * @param rollouts rollouts of the job, with their recorded calls
 * @returns the number of trained tokens
 * @throws Error if an answer or a reward differs, or an answer is missing or occurs twice
 */
export async function checkTrainedTokens(hone, modelId, jobId, rollouts) {
  const waiting = new Map(rollouts.map((rollout) => [rollout.rollout_id, sampledAnswers(rollout)]));
  let tokenCount = 0;
  for await (const row of hone.trajectories.list(modelId, { source: "jobs", job_id: jobId })) {
    const id = row.metadata.rollout_id;
    if (row.left_out_bytes !== undefined)
      throw new Error(`The trajectory of rollout ${id} is too large to compare.`);
    const sampled = waiting.get(id) ?? [];
    const reward = rollouts.find((rollout) => rollout.rollout_id === id)?.reward;
    if (row.reward !== reward)
      throw new Error(`Rollout ${id} has the reward ${reward}; its trajectory ${row.reward}.`);
    for (const answer of trainedAnswers(row)) {
      const place = sampled.findIndex((one) => isDeepStrictEqual(one, answer));
      if (place === -1)
        throw new Error(`Tokens of rollout ${id} were never sampled: ${JSON.stringify(answer.tokens)}`);
      sampled.splice(place, 1);
      tokenCount += answer.tokens.length;
    }
  }
  const missing = [...waiting].filter(([, sampled]) => sampled.length > 0).map(([id]) => id);
  if (missing.length > 0)
    throw new Error(`Answers of these rollouts are not in the job's data: ${missing.join(", ")}`);
  return tokenCount;
}

function sampledAnswers({ calls }) {
  return calls.flatMap(({ prompt_token_ids: prompt, choices }) =>
    choices.map((choice) => answerOf({ ...choice, prompt_token_ids: prompt })),
  );
}

function trainedAnswers({ messages_and_choices: items, additional_histories: others }) {
  const histories = [items, ...(others ?? []).map((history) => history.messages_and_choices)];
  return histories
    .flat()
    .filter((item) => item.token_ids !== undefined)
    .map(answerOf);
}

function answerOf({ prompt_token_ids: prompt, token_ids: tokens, logprobs }) {
  return { prompt, tokens, logprobs: logprobs.content.map(({ logprob }) => logprob) };
}
