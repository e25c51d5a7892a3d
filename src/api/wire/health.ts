// What is answered to whoever asks whether the server is well, as schemas that document it.
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
        "Why it is not ready, or which base models could not be loaded while the others are served; else empty.",
    }),
    models: Type.Record(Type.String(), Type.String(), {
      description:
        "Each base model: `loaded`, `loading`, `unloaded` or `failed`, with the reason. An unloaded model is loaded at its next request.",
    }),
  },
  { title: "Health" },
);

const part = (description: string) =>
  Type.String({ description: `${description}: \`ok\`, or what is wrong.` });

export const systemCheckSchema = Type.Object(
  {
    status: Type.Enum(["ok", "unavailable"]),
    api: part("The server"),
    database: part("The database"),
    cpu_queue: part("Training jobs"),
    gpu_queue: part("The engine"),
    note: Type.String({
      description:
        "What is not as usual and no fault, for people, as that the database is a newer program's, beside which this one goes on; else empty.",
    }),
  },
  { additionalProperties: part("A further part"), title: "SystemCheck" },
);

/** With the body that errors have too, for clients that read nothing else. */
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
  server_load: Type.Integer({ minimum: 0, description: "Requests with a key that are being answered." }),
});
