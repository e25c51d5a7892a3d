// Bodies and answers of the Tinker API's routes about sessions, samplers and the server itself.
import { Type } from "typebox";
import type { Session } from "../../../train/sessions/open-sessions.ts";
import { runIdOf } from "../../../train/sessions/run-names.ts";
import type { BodyForm } from "../body.ts";
import { anyObject } from "../fields/any-object.ts";
import { nullable, orNull } from "../nullable.ts";
import { pageQuery } from "./page-bodies.ts";

/** Type of the request. Clients send it in the body; the server does not need it. */
export const typeField = Type.Optional(Type.String({ description: "Name of the request; not needed." }));
const sessionId = Type.String({ description: "Id of the session." });

const configSchema = Type.Object(
  { sdk_version: Type.Optional(Type.String({ description: "Version of the client." })) },
  { title: "TinkerClientConfigRequest" },
);
export const configForm: BodyForm<typeof configSchema> = { schema: configSchema };

/**
 * Flags with which clients disable features that this server lacks. If a flag is absent, the client uses its default.
 */
export const clientConfig = {
  pjwt_auth_enabled: false,
  credential_default_source: "api_key",
  proto_compress_fwdbwd: false,
  parallel_fwdbwd_chunks: true,
  sample_use_retrieve_futures: false,
  sample_join_sampling_session: false,
  custom_loss_server_side: false,
  // Disabled, because the client's check for stuck samples would mistake a busy machine for a broken one.
  sample_enable_stuck_detection: false,
} as const;

const flags = Object.fromEntries(
  Object.entries(clientConfig).map(([name, value]) => [
    name,
    typeof value === "boolean" ? Type.Boolean() : Type.String(),
  ]),
);
export const clientConfigSchema = Type.Object(flags, { description: "Flags for the client." });

export const dynamicConfig = { refresh_interval_sec: 3600, sample_cancel_enabled: false } as const;
export const dynamicConfigSchema = Type.Object({
  refresh_interval_sec: Type.Integer({ description: "Interval at which clients ask again." }),
  sample_cancel_enabled: Type.Boolean({ description: "True if clients may cancel samples." }),
});

export const healthSchema = Type.Object({ status: Type.String({ description: "`ok`." }) });
export const capabilitiesSchema = Type.Object({
  supported_models: Type.Array(
    Type.Object({
      model_name: Type.String({ description: "Name of the base model." }),
      max_context_length: Type.Integer({ description: "Maximum length of a sequence in tokens." }),
      trainable: Type.Boolean({ description: "True if models can be trained over it." }),
      sampleable: Type.Boolean({ description: "True if clients can sample from it." }),
    }),
  ),
});

const createSchema = Type.Object(
  {
    tags: nullable(Type.Array(Type.String(), { maxItems: 100 }), { description: "Labels; not stored." }),
    user_metadata: nullable(anyObject, { description: "Metadata of the session." }),
    sdk_version: nullable(Type.String({ maxLength: 128 }), { description: "Version of the client." }),
    project_id: nullable(Type.String(), {
      description: "Not supported: a key's project, or else the project `tinker`, has the models.",
    }),
    display_name: nullable(Type.String({ maxLength: 256 }), { description: "Name for people." }),
    type: typeField,
  },
  { title: "TinkerCreateSession" },
);
export const createSessionForm: BodyForm<typeof createSchema> = {
  schema: createSchema,
  fields: {
    project_id: {
      refusedUnless: () => false,
      cure: "leave it out, and use a key of the project for models of another project than `tinker`",
    },
  },
};
export const createdSessionSchema = Type.Object({
  type: Type.String(),
  session_id: sessionId,
  info_message: orNull(Type.String(), { description: "Note that clients log." }),
});

const heartbeatSchema = Type.Object({ session_id: sessionId, type: typeField }, { title: "TinkerHeartbeat" });
export const heartbeatForm: BodyForm<typeof heartbeatSchema> = { schema: heartbeatSchema };
export const heartbeatAnswerSchema = Type.Object({ type: Type.String() });

const finishSchema = Type.Object(
  {
    reason: nullable(anyObject, { description: "Reason of the end; not stored." }),
    detail: nullable(Type.String(), { description: "Explanation; not stored." }),
  },
  { title: "TinkerFinishSession" },
);
export const finishForm: BodyForm<typeof finishSchema> = { schema: finishSchema };

export const sessionSchema = Type.Object({
  training_run_ids: Type.Array(Type.String(), { description: "Models in training." }),
  sampler_ids: Type.Array(Type.String(), { description: "Sampling sessions." }),
  user_metadata: orNull(anyObject, { description: "Metadata of the session." }),
  display_name: orNull(Type.String(), { description: "Name for people." }),
});

export const sessionsSchema = Type.Object({
  sessions: Type.Array(Type.String(), { description: "Ids of open sessions." }),
});
export const sessionsQuerySchema = pageQuery("sessions", { usual: 20, most: 256 });

export function sessionBody({ id, models, samplers, metadata, displayName }: Session) {
  return {
    training_run_ids: [...models.keys()].map((seqId) => runIdOf({ sessionId: id, seqId })),
    sampler_ids: [...samplers.keys()],
    user_metadata: metadata,
    display_name: displayName,
  };
}

const telemetrySchema = Type.Object({}, { title: "TinkerTelemetry", additionalProperties: true });
export const telemetryForm: BodyForm<typeof telemetrySchema> = { schema: telemetrySchema };
export const telemetryAnswerSchema = Type.Object({ status: Type.String({ description: "`accepted`." }) });
