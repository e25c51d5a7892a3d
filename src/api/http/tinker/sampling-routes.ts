// Routes of the Tinker API that sample from base models and saved weights. The chat service answers, as it does for
// every other API; the client fetches the samples later.
import type { FastifyInstance } from "fastify";
import { newUuid } from "../../../base/domain/random.ts";
import type { Caller } from "../../../base/domain/access.ts";
import { notFound } from "../../../base/domain/service-error.ts";
import type { Sampler } from "../../../train/sessions/open-sessions.ts";
import type { SessionResult } from "../../../train/sessions/results.ts";
import { locate } from "../../wire/field-paths.ts";
import {
  type SampleBody,
  sampleForm,
  samplePaths,
  samplePromiseSchema,
  sampleRequest,
} from "../../wire/tinker/read-sample.ts";
import {
  samplerAnswerSchema,
  samplingSessionForm,
  samplingSessionSchema,
} from "../../wire/tinker/save-bodies.ts";
import { sampleAnswer } from "../../wire/tinker/write-sample.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { findSession, tinkerEndpoints } from "./tinker-endpoints.ts";

export function samplingRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { sessions, directory, chat, settings } = dependencies;
  const on = tinkerEndpoints(app);
  on(
    "POST /api/v1/create_sampling_session",
    {
      summary: "Create a sampling session",
      body: samplingSessionForm,
      answer: "The sampling session.",
      json: samplingSessionSchema,
      fieldPaths: {
        model: ["body", "base_model"],
        not_found: ["body", "model_path"],
        invalid: ["body", "model_path"],
      },
    },
    async ({ body, caller }) => {
      const session = findSession(dependencies, body.session_id, caller);
      const { sampling_session_seq_id: seqId, base_model: baseModel, model_path: path } = body;
      const isOfPath = typeof path === "string";
      if (!isOfPath) await directory.resolve(sessions.bases.baseOf(baseModel ?? ""), caller);
      const from = isOfPath ? { path } : { baseModel: baseModel ?? "" };
      const { id } = await sessions.addSampler(session, seqId, from, caller);
      return { type: "create_sampling_session", sampling_session_id: id };
    },
  );
  on(
    "GET /api/v1/samplers/:sampler_id",
    { summary: "Read a sampling session", answer: "The sampling session.", json: samplerAnswerSchema },
    ({ params, caller }) => {
      const { id, baseName, path } = sessions.sampler(params.sampler_id, caller).sampler;
      return { sampler_id: id, base_model: baseName, model_path: path };
    },
  );
  const modelOf = async (body: SampleBody, caller: Caller): Promise<Pick<Sampler, "model">> => {
    const { model_path: path, base_model: model } = body;
    if (typeof path === "string") return sessions.modelOf(path, caller);
    if (typeof model === "string") return { model: sessions.bases.baseOf(model) };
    throw notFound("sampling session", "");
  };
  on(
    "POST /api/v1/asample",
    {
      summary: "Sample from a model",
      description:
        "Samples are not recorded. Log-probabilities are those before temperature, top-k and top-p.",
      body: sampleForm,
      answer: "The operation, whose result to fetch later.",
      json: samplePromiseSchema,
      fieldPaths: { not_found: ["body", "sampling_session_id"] },
      options: { bodyLimit: settings.chatBodyBytes },
    },
    async ({ body, caller, request }) => {
      const { sampling_session_id: id, num_samples: count = 1 } = body;
      const found = typeof id === "string" ? sessions.sampler(id, caller) : null;
      const { model } = found?.sampler ?? (await modelOf(body, caller));
      sessions.futures.requireRoom(caller.entity);
      const requestId = newUuid();
      const signal = found?.session.ending.signal ?? app.closing;
      const { allowance } = request;
      const sample = async (): Promise<SessionResult> => {
        const located = (error: unknown): unknown => locate(error, samplePaths);
        const asked = sampleRequest(body, model, requestId);
        const completion = await chat.begin(asked, caller, { signal, allowance, located });
        const answer = sampleAnswer(body, completion.header);
        for await (const deltas of completion.deltas) answer.add(deltas);
        return { kind: "sampled", bytes: answer.end(completion.usage) };
      };
      const future = sessions.futures.add(caller.entity, "sample", sample());
      const sequences = Array.from({ length: count }, (_, index) => `${requestId}-${index}`);
      return { request_id: future, sample_sequence_ids: sequences };
    },
  );
}
