// Creates the rollout, the fine-tuning job, the upload and the session of the Tinker API that fuzzed requests refer to.
import { recorded } from "../../src/api/http/tinker/testing/recorded-bodies.ts";
import { call, eventually, type RunningServer } from "../running-server.ts";
import type { FuzzedWorld } from "./valid-request.ts";

/** Creates a rollout of the model, a fine-tuning job with the file, and an upload in parts. */
export async function newTuning(
  server: RunningServer,
  { modelId, fileId }: Pick<FuzzedWorld, "modelId" | "fileId">,
): Promise<Pick<FuzzedWorld, "rolloutId" | "tuningJobId" | "uploadId">> {
  const rollout = await call(server, "POST", `/v1/preview/models/${modelId}/rollouts`, {
    body: { group: "g" },
  });
  const body = { model: "tiny", training_file: fileId };
  const job = await call(server, "POST", "/v1/fine_tuning/jobs", { body });
  const order = { filename: "a", purpose: "fine-tune", bytes: 100, mime_type: "text/jsonl" };
  const upload = await call(server, "POST", "/v1/uploads", { body: order });
  return {
    rolloutId: String(rollout.body.rollout_id),
    tuningJobId: String(job.body.id),
    uploadId: String(upload.body.id),
  };
}

/** Creates a session with a model in training, and saves the model's weights. */
export async function newSession(server: RunningServer): Promise<string> {
  const post = async (path: string, body: object): Promise<any> =>
    (await call(server, "POST", `/api/v1/${path}`, { body })).body;
  const wait = async ({ request_id: id }: { readonly request_id: string }): Promise<void> => {
    await eventually("the operation ends", async () => {
      const { status } = await call(server, "POST", "/api/v1/retrieve_future", { body: { request_id: id } });
      return status === 408 ? null : true;
    });
  };
  const { session_id: session } = await post("create_session", recorded.createSession);
  await wait(await post("create_model", recorded.createModel(session)));
  await wait(await post("save_weights", recorded.saveWeights(`${session}:train:0`, 1)));
  return String(session);
}

/** Ends a session, so that the next one can train a model. An entity can train only a few models at a time. */
export async function endSession(server: RunningServer, sessionId: string): Promise<void> {
  await call(server, "POST", `/api/v1/sessions/${sessionId}/finish`, { body: {} });
}
