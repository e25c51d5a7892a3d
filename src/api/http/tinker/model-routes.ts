// Routes of the Tinker API that create and unload models in training, run optimizer steps, and save and load weights.
import type { FastifyInstance } from "fastify";
import { runIdOf } from "../../../train/sessions/run-names.ts";
import {
  adapterOf,
  createModelForm,
  infoAnswerSchema,
  modelForm,
  promiseSchema,
  stepForm,
  stepOf,
  weightsInfoBody,
  weightsInfoForm,
  weightsInfoSchema,
} from "../../wire/tinker/model-bodies.ts";
import {
  loadForm,
  saveExternalForm,
  saveForm,
  saveForSamplerForm,
  saveRequest,
} from "../../wire/tinker/save-bodies.ts";
import type { HttpDependencies } from "../dependencies.ts";
import {
  findLive,
  findSession,
  fingerprintOf,
  passesOverRefused,
  tinkerEndpoints,
} from "./tinker-endpoints.ts";

export function modelRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { sessions } = dependencies;
  const on = tinkerEndpoints(app, passesOverRefused(dependencies));
  const promise = { answer: "The operation, whose result to fetch later.", json: promiseSchema };
  const promised = (request_id: string, model_id: string | null) => ({ request_id, model_id });
  const submission = (body: { readonly seq_id?: number | null }, what: string) => ({
    seqId: body.seq_id ?? 0,
    fingerprint: fingerprintOf({ what, ...body }),
  });
  on(
    "POST /api/v1/create_model",
    {
      summary: "Create a model to train",
      description:
        "Registers a trained model and starts its training process. The model belongs to the project to which the key is limited; without such a limit, to the project `tinker`.",
      body: createModelForm,
      ...promise,
      fieldPaths: {
        baseModel: ["body", "base_model"],
        model: ["body", "base_model"],
        not_found: ["body", "base_model"],
      },
    },
    async ({ body, caller }) => {
      const session = findSession(dependencies, body.session_id, caller);
      const { model_seq_id: seqId, base_model: baseName, lora_config: lora } = body;
      const adapter = adapterOf(lora, sessions.loraAlpha);
      const seed = String(lora?.seed ?? `${session.id} ${seqId}`);
      const fresh = { baseName, adapter, seed };
      const request = { seqId, fingerprint: fingerprintOf(body), fresh, from: null };
      const future = await sessions.starts.create(session, request, caller);
      return promised(future, runIdOf({ sessionId: session.id, seqId }));
    },
  );
  on(
    "POST /api/v1/get_info",
    { summary: "Read a model in training", body: modelForm, answer: "The model.", json: infoAnswerSchema },
    ({ body, caller }) => {
      const { model, baseName, run } = findLive(dependencies, body.model_id, caller);
      return {
        type: "get_info",
        model_data: { model_name: baseName, tokenizer_id: baseName },
        model_id: runIdOf(run),
        model_name: baseName,
        is_lora: true,
        lora_rank: weightsInfoBody(model).lora_rank,
      };
    },
  );
  on(
    "POST /api/v1/weights_info",
    {
      summary: "Read the shape of saved weights",
      body: weightsInfoForm,
      answer: "The shape.",
      json: weightsInfoSchema,
      fieldPaths: { not_found: ["body", "tinker_path"] },
    },
    async ({ body, caller }) => {
      const { model, version } = await sessions.saved.find(body.tinker_path, caller);
      return { ...weightsInfoBody(model), base_model: version.saved.baseName };
    },
  );
  on(
    "POST /api/v1/optim_step",
    {
      summary: "Take an optimizer step",
      description:
        "Updates the adapter with the gradient that all operations since the last step have added.",
      body: stepForm,
      ...promise,
    },
    ({ body, caller }) => {
      const live = findLive(dependencies, body.model_id, caller);
      return promised(sessions.operations.step(live, submission(body, "step"), stepOf(body)), body.model_id);
    },
  );
  on(
    "POST /api/v1/save_weights",
    {
      summary: "Save weights for training",
      description: "Adds a version with the adapter and the state of the optimizer.",
      body: saveForm,
      ...promise,
    },
    ({ body, caller }) => {
      const live = findLive(dependencies, body.model_id, caller);
      const future = sessions.operations.save(live, submission(body, "save"), saveRequest("weights", body));
      return promised(future, body.model_id);
    },
  );
  on(
    "POST /api/v1/save_weights_for_sampler",
    {
      summary: "Save weights for sampling",
      description: "Adds a version with the adapter. Chat completions can use the version, too.",
      body: saveForSamplerForm,
      ...promise,
    },
    ({ body, caller }) => {
      const live = findLive(dependencies, body.model_id, caller);
      const future = sessions.operations.save(
        live,
        submission(body, "sampler"),
        saveRequest("sampler_weights", body),
      );
      return promised(future, body.model_id);
    },
  );
  on(
    "POST /api/v1/save_weights_external",
    {
      summary: "Save weights for download",
      description: "Adds a version with the adapter, whose files clients download by links.",
      body: saveExternalForm,
      ...promise,
    },
    ({ body, caller }) => {
      const live = findLive(dependencies, body.model_id, caller);
      const request = saveRequest("external_weights", body);
      return promised(sessions.operations.save(live, submission(body, "external"), request), body.model_id);
    },
  );
  on(
    "POST /api/v1/load_weights",
    {
      summary: "Load saved weights",
      description: "Creates a model from saved weights, or loads them into a model in training.",
      body: loadForm,
      ...promise,
      fieldPaths: { not_found: ["body", "path"], unsupported: ["body", "path"] },
    },
    async ({ body, caller }) => {
      const { model_id: modelId, session_id: sessionId, model_seq_id: seqId, path, optimizer } = body;
      const from = { path, keepsOptimizer: optimizer };
      if (typeof modelId === "string") {
        const live = findLive(dependencies, modelId, caller);
        return promised(
          await sessions.operations.load(live, submission(body, "load"), from, caller),
          modelId,
        );
      }
      // If the body names no model, the form requires both values, so the defaults below are never used.
      const run = { sessionId: sessionId ?? "", seqId: seqId ?? 0 };
      const session = findSession(dependencies, run.sessionId, caller);
      const request = { seqId: run.seqId, fingerprint: fingerprintOf(body), fresh: null, from };
      return promised(await sessions.starts.create(session, request, caller), runIdOf(run));
    },
  );
  on(
    "POST /api/v1/unload_model",
    { summary: "End the training of a model", body: modelForm, ...promise },
    ({ body, caller }) => {
      const live = findLive(dependencies, body.model_id, caller);
      return promised(sessions.unload(live, caller), body.model_id);
    },
  );
}
