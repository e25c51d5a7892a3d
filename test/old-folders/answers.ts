// What a server answers of what record-folder.ts made, as it is compared between versions of this program.
import { call, type RunningServer } from "../running-server.ts";

/** What the folder holds. */
export interface Recorded {
  readonly modelId: string;
  /** The jobs that had ended, in their order. */
  readonly jobIds: readonly string[];
  readonly projectId: string;
}

/** By what was asked; only what the server knew to answer. */
export type Answers = Readonly<Record<string, any>>;

/** A greedy answer of one version. */
export function chat(server: RunningServer, name: string) {
  return call(server, "POST", "/v1/chat/completions", {
    body: {
      model: name,
      messages: [{ role: "user", content: "tell me" }],
      max_tokens: 8,
      temperature: 0,
      logprobs: true,
      return_token_ids: true,
    },
  });
}

export async function answersOf(
  server: RunningServer,
  { modelId, jobIds, projectId }: Recorded,
): Promise<Answers> {
  const models = "/v1/preview/models";
  const jobs = "/v1/preview/training-jobs";
  const answers: Record<string, unknown> = {};
  for (const path of [
    models,
    `${models}/${modelId}`,
    `${models}/${modelId}/checkpoints`,
    `${models}/${modelId}/metrics`,
    `${models}/${modelId}/trajectories`,
    `${jobs}?model_id=${modelId}`,
    ...jobIds.flatMap((id) => [`${jobs}/${id}`, `${jobs}/${id}/events`]),
  ]) {
    const { status, body } = await call(server, "GET", path);
    if (status === 200) answers[`GET ${path}`] = body;
  }
  for (const [path, body] of [
    ["/feedback/query", { project_id: projectId }],
    ["/feedback/history", { project_id: projectId, feedback_id: "record-1" }],
  ] as const) {
    const { status, body: answer } = await call(server, "POST", path, { body, scheme: "Basic" });
    if (status === 200) answers[`POST ${path}`] = answer;
  }
  for (const step of [0, 1, 2]) {
    const { status, body } = await chat(server, `p/m:step${step}`);
    const [choice] = body.choices ?? [];
    if (status === 200)
      answers[`chat step ${step}`] = {
        text: choice.message.content,
        token_ids: choice.token_ids,
        logprobs: choice.logprobs.content.map(({ logprob }: { readonly logprob: number }) => logprob),
      };
  }
  return answers;
}
