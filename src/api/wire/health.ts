// Schemas that document the answers about the server's health, version and load.
import { Type } from "typebox";
import { errorSchema } from "./error.ts";

export const healthSchema = Type.Object(
  {
    status: Type.Enum(["ok", "unavailable"]),
    state: Type.String({
      description:
        "State of the server: `ready`, `starting`, `restarting`, `waiting` (for its database), `draining` (before it stops), `failed` or `stopped`.",
    }),
    reason: Type.String({
      description:
        "Why the server is not ready; or, if it is ready, which base models failed to load while it serves others. Empty if the server is ready and no base model failed.",
    }),
    models: Type.Record(Type.String(), Type.String(), {
      description:
        "State of each base model, by name: `loaded`, `loading`, `unloaded`, or `failed` with the reason. The next request for an unloaded model loads it.",
    }),
  },
  { title: "Health" },
);

const part = (description: string) =>
  Type.String({ description: `${description}: \`ok\`, or a description of the fault.` });

export const systemCheckSchema = Type.Object(
  {
    status: Type.Enum(["ok", "unavailable"]),
    api: part("The HTTP server"),
    database: part("The database"),
    cpu_queue: part("Training jobs"),
    gpu_queue: part("The inference engine"),
    note: Type.String({
      description:
        "Notices that report no fault, for example that a newer release of Hone has upgraded the database while this server continues to run. Empty if there are none.",
    }),
  },
  { additionalProperties: part("Any other part"), title: "SystemCheck" },
);

/** Includes the usual error body, for clients that read only its members. */
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

export const versionSchema = Type.Object({
  version: Type.String({ description: "Version of Hone, such as `0.1.0`." }),
});

export const loadSchema = Type.Object({
  server_load: Type.Integer({
    minimum: 0,
    description: "Number of running requests, on routes that require a key.",
  }),
});
