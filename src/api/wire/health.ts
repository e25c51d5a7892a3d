// Schemas that document the answers about the server's health.
import { Type } from "typebox";
import { errorSchema } from "./error.ts";

export const healthSchema = Type.Object(
  {
    status: Type.Enum(["ok", "unavailable"]),
    state: Type.String({
      description:
        "`ready`, `starting`, `restarting`, `waiting` (for its database), `draining`, `failed` or `stopped`.",
    }),
    reason: Type.String({
      description:
        "Why the server is not ready, or which base models failed to load while others are served; otherwise empty.",
    }),
    models: Type.Record(Type.String(), Type.String(), {
      description:
        "State of each base model: `loaded`, `loading`, `unloaded` or `failed` with the reason. The next request for an unloaded model loads it.",
    }),
  },
  { title: "Health" },
);

const part = (description: string) => Type.String({ description: `${description}: \`ok\`, or the fault.` });

export const systemCheckSchema = Type.Object(
  {
    status: Type.Enum(["ok", "unavailable"]),
    api: part("The server"),
    database: part("The database"),
    cpu_queue: part("Training jobs"),
    gpu_queue: part("The engine"),
    note: Type.String({
      description:
        "Notices that are not faults, for people; for example that a newer program has upgraded the database and this one continues next to it. Empty otherwise.",
    }),
  },
  { additionalProperties: part("Any other part"), title: "SystemCheck" },
);

/** Includes the common error body, for clients that read no other fields. */
export const unhealthySchema = Type.Object(
  {
    ...healthSchema.properties,
    state: Type.Optional(healthSchema.properties.state),
    reason: Type.Optional(healthSchema.properties.reason),
    models: Type.Optional(healthSchema.properties.models),
    ...errorSchema.properties,
  },
  { additionalProperties: part("A part of the server"), title: "Unavailable" },
);

export const versionSchema = Type.Object({ version: Type.String() });

export const loadSchema = Type.Object({
  server_load: Type.Integer({ minimum: 0, description: "Requests with a key that are in progress." }),
});
