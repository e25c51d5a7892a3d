// Routes of the Tinker API about the server, sessions and telemetry. Telemetry is accepted and dropped.
import type { FastifyInstance } from "fastify";
import {
  capabilitiesSchema,
  clientConfig,
  clientConfigSchema,
  configForm,
  createdSessionSchema,
  createSessionForm,
  dynamicConfig,
  dynamicConfigSchema,
  finishForm,
  healthSchema,
  heartbeatAnswerSchema,
  heartbeatForm,
  sessionBody,
  sessionSchema,
  sessionsQuerySchema,
  sessionsSchema,
  telemetryAnswerSchema,
  telemetryForm,
} from "../../wire/tinker/session-bodies.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { findSession, tinkerEndpoints } from "./tinker-endpoints.ts";

const note =
  "This is a Hone server. It trains LoRA adapters of attention and feed-forward layers; train_unembed has no effect.";

export function sessionRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { sessions, baseModels } = dependencies;
  const on = tinkerEndpoints(app);
  on(
    "GET /api/v1/healthz",
    { summary: "Check the Tinker API", answer: "The state.", json: healthSchema },
    () => ({ status: "ok" }),
  );
  on(
    "POST /api/v1/client/config",
    { summary: "Read flags for clients", body: configForm, answer: "The flags.", json: clientConfigSchema },
    () => clientConfig,
  );
  on(
    "POST /api/v1/client/dynamic_config",
    {
      summary: "Read flags that clients refresh every hour",
      body: configForm,
      answer: "The flags.",
      json: dynamicConfigSchema,
    },
    () => dynamicConfig,
  );
  on(
    "GET /api/v1/get_server_capabilities",
    { summary: "List base models for training", answer: "The base models.", json: capabilitiesSchema },
    () => ({
      supported_models: baseModels().map(({ name, contextLength }) => ({
        model_name: name,
        max_context_length: contextLength ?? 0,
        trainable: sessions.bases.isTrainable(name),
        sampleable: true,
      })),
    }),
  );
  on(
    "POST /api/v1/create_session",
    {
      summary: "Open a session",
      description:
        "A session stands for a program that trains or samples. It ends five minutes after its last heartbeat; the training of its models then ends too.",
      body: createSessionForm,
      answer: "The session.",
      json: createdSessionSchema,
    },
    ({ body: { user_metadata: metadata = null, display_name: displayName = null }, caller }) => ({
      type: "create_session",
      session_id: sessions.sessions.open(caller, { metadata, displayName }).id,
      info_message: note,
    }),
  );
  on(
    "POST /api/v1/session_heartbeat",
    {
      summary: "Keep a session open",
      body: heartbeatForm,
      answer: "The session is open.",
      json: heartbeatAnswerSchema,
    },
    ({ body: { session_id: id }, caller }) => {
      findSession(dependencies, id, caller);
      return { type: "session_heartbeat" };
    },
  );
  on(
    "GET /api/v1/sessions",
    {
      summary: "List open sessions",
      query: sessionsQuerySchema,
      answer: "A page of session ids, the newest first.",
      json: sessionsSchema,
    },
    ({ query: { limit = 20, offset = 0 }, caller }) => {
      const ids = sessions.sessions.list(caller).map(({ id }) => id);
      return { sessions: ids.reverse().slice(offset, offset + limit) };
    },
  );
  on(
    "GET /api/v1/sessions/:session_id",
    { summary: "Read a session", answer: "The session.", json: sessionSchema },
    ({ params, caller }) => sessionBody(sessions.sessions.find(params.session_id, caller)),
  );
  on(
    "POST /api/v1/sessions/:session_id/finish",
    {
      summary: "Close a session",
      body: finishForm,
      answer: "The session is closed, and the training of its models has ended.",
      json: heartbeatAnswerSchema,
    },
    async ({ params, caller }) => {
      await sessions.close(
        sessions.sessions.find(params.session_id, caller),
        "its program closed the session",
      );
      return { type: "session_finish" };
    },
  );
  on(
    "POST /api/v1/telemetry",
    {
      summary: "Send telemetry",
      description: "Accepts telemetry of clients and drops it.",
      body: telemetryForm,
      answer: "The telemetry was accepted.",
      json: telemetryAnswerSchema,
    },
    () => ({ status: "accepted" }),
  );
}
