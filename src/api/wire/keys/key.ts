// API format of keys, for administrators: requests that create, change or rotate keys, and answers that show them.
import { Type } from "typebox";
import {
  type AccessKey,
  graceSecondsDefault,
  graceSecondsMax,
  keyFields,
  keyTextMax,
} from "../../../base/domain/access.ts";
import { integer } from "../../../base/domain/resources/fields.ts";
import { alteration, answerOf, creationRows, changeRows, creation, shown } from "../fields/resource.ts";
import { nullable, orNull } from "../nullable.ts";
import { pageQueryFields } from "../page.ts";

const roles = ["member", "admin"] as const;
const dateTime = Type.String({ format: "date-time" });
const text = Type.String({ minLength: 1, maxLength: keyTextMax });

export const keyCreateForm = creation("KeyCreate", {
  ...creationRows(keyFields),
  entity: nullable(text, {
    description: "Entity whose models, jobs and feedback the key can access. A new name creates an entity.",
    "x-default": "the entity of the requesting key",
  }),
  owner: nullable(text, {
    description:
      "Name of the key's owner, such as a person. Feedback written with the key has this name as `vendor_user_id`.",
    "x-default": "the entity",
  }),
  role: nullable(Type.Enum([...roles]), {
    default: "member",
    description:
      "Role of the key. An admin key can access all entities and manage keys; a member key can access only its own entity.",
  }),
});
export const keyChangeForm = alteration("KeyChange", changeRows(keyFields, "values"), "values");

const rotationFields = {
  graceSeconds: integer({
    minimum: 0,
    maximum: graceSecondsMax,
    default: graceSecondsDefault,
    about: "Seconds for which the current secret remains valid; 0 invalidates it immediately.",
  }),
};
export const keyRotationForm = creation("KeyRotation", creationRows(rotationFields));

export const keyQuerySchema = Type.Object({
  ...pageQueryFields,
  entity: Type.Optional(Type.String({ description: "Only keys of this entity." })),
});

const { name, expires_at: expiresAt, ...choices } = shown(keyFields);
const rows = {
  id: Type.String(),
  name,
  entity: Type.String({
    description:
      "Entity whose models, jobs and feedback the key can access. An admin key can access all entities.",
  }),
  owner: Type.String({
    description:
      "Name of the key's owner, such as a person. Feedback written with the key has this name as `vendor_user_id`.",
  }),
  role: Type.Enum([...roles]),
  ...choices,
  created_at: dateTime,
  expires_at: expiresAt,
  last_used_at: orNull(dateTime, {
    description: "Time of the last request with the key, to the minute; null if the key was never used.",
  }),
  former_secret_until: [
    orNull(dateTime, {
      description:
        "Time until which the previous secret is or was valid; null if the secret was never rotated.",
    }),
    ({ previous }: AccessKey) => previous?.until ?? null,
  ],
  revoked_at: orNull(dateTime, { description: "Time at which the key was revoked; null for a valid key." }),
} as const;
export const keyAnswer = answerOf<AccessKey>()("Key", rows);
export const newKeyAnswer = answerOf<AccessKey & { readonly key: string }>()("NewKey", {
  ...rows,
  key: Type.String({ description: "Secret to send with requests. No other answer contains it." }),
});
