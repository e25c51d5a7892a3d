// Keys as the API spells them for administrators: making, changing, rotating and showing them.
import { Type, type Static } from "typebox";
import type { AccessKey, KeyChoices } from "../../../base/domain/access.ts";
import { keyScopes } from "../../../base/domain/keys/key-scope.ts";
import type { BodyForm } from "../body.ts";
import { limitFields, limitPlaces, limitsBody, limitsIn, shownLimits } from "./limits.ts";
import { nullable, orNull } from "../nullable.ts";
import { pageQueryFields, pageSchema } from "../page.ts";
import type { WirePlaces } from "../places.ts";

/** Characters of each text. */
const textMax = 128;
const roles = ["member", "admin"] as const;
const dateTime = Type.String({ format: "date-time" });

const choices = {
  name: nullable(Type.String({ minLength: 1, maxLength: textMax }), {
    description: "What uses the key, for people.",
    examples: ["nightly evaluation"],
  }),
  expires_at: nullable(dateTime, {
    description: "From then on it is refused, and what runs for it ends. Null: never.",
  }),
  scopes: nullable(Type.Array(Type.Enum([...keyScopes]), { minItems: 1, maxItems: 16 }), {
    description:
      "What it opens: `chat` has models answer, `train` is for models, jobs and what they train on, `feedback` for feedback, annotation and traces, each with reading what it is about, and `read` reads everything and changes nothing. Null: all that its role may.",
  }),
  project: nullable(Type.String({ minLength: 1, maxLength: textMax }), {
    description:
      "The one project of its entity that it reaches, beside base models. Null: all. Not for admins.",
  }),
  ...limitFields,
};

const creationSchema = Type.Object(
  {
    ...choices,
    entity: nullable(Type.String({ minLength: 1, maxLength: textMax }), {
      description: "Whose models, jobs and feedback it reaches; a new name is a new entity.",
      "x-default": "that of the key that asks",
    }),
    owner: nullable(Type.String({ minLength: 1, maxLength: textMax }), {
      description: "A name for people; feedback has it as `vendor_user_id`.",
      "x-default": "the entity",
    }),
    role: nullable(Type.Enum([...roles]), {
      default: "member",
      description: "An admin's key reaches every entity, and makes keys.",
    }),
  },
  { title: "KeyCreate" },
);
const changeSchema = Type.Object(choices, { title: "KeyChange" });

export const keyCreateForm: BodyForm<typeof creationSchema> = { schema: creationSchema };
export const keyChangeForm: BodyForm<typeof changeSchema> = { schema: changeSchema };

export function keyRotationForm(limits: { readonly secondsDefault: number; readonly secondsMax: number }) {
  const schema = Type.Object(
    {
      grace_seconds: nullable(Type.Integer({ minimum: 0, maximum: limits.secondsMax }), {
        default: limits.secondsDefault,
        description: "How long the secret that it has now still holds; 0 ends it at once.",
      }),
    },
    { title: "KeyRotation" },
  );
  return { schema } satisfies BodyForm<typeof schema>;
}

/** Where a client sent what the service speaks of. */
export const keyPlaces: WirePlaces = {
  name: ["body", "name"],
  owner: ["body", "owner"],
  entity: ["body", "entity"],
  expiresAt: ["body", "expires_at"],
  scopes: ["body", "scopes"],
  project: ["body", "project"],
  ...limitPlaces,
  graceSeconds: ["body", "grace_seconds"],
  not_found: ["path", "key_id"],
};

/** The choices that a body names; null takes one away. */
export function keyChoices(body: Static<typeof changeSchema>): Partial<KeyChoices> {
  const { name, expires_at: expiresAt, scopes, project } = body;
  return {
    ...(name === undefined ? {} : { name }),
    ...(expiresAt === undefined ? {} : { expiresAt: expiresAt === null ? null : new Date(expiresAt) }),
    ...(scopes === undefined ? {} : { scopes }),
    ...(project === undefined ? {} : { project }),
    ...limitsIn(body),
  };
}

export const keyQuerySchema = Type.Object({
  ...pageQueryFields,
  entity: Type.Optional(Type.String({ description: "Only those of this entity." })),
});

const shown = {
  id: Type.String(),
  name: orNull(Type.String(), { description: "What uses it." }),
  entity: Type.String({ description: "Whose models, jobs and feedback it reaches; an admin's reaches all." }),
  owner: Type.String({ description: "A name for people; feedback has it as `vendor_user_id`." }),
  role: Type.Enum([...roles]),
  scopes: orNull(Type.Array(Type.Enum([...keyScopes])), {
    description: "What it opens; null for all that its role may.",
  }),
  project: orNull(Type.String(), { description: "The one project that it reaches; null for all." }),
  ...shownLimits,
  created_at: dateTime,
  expires_at: orNull(dateTime, { description: "From then on it is refused." }),
  last_used_at: orNull(dateTime, {
    description: "When a request last came with it, to the minute; null where none did.",
  }),
  former_secret_until: orNull(dateTime, {
    description: "How long the secret before the latest rotation holds, or held; null where there was none.",
  }),
  revoked_at: orNull(dateTime),
};
export const keySchema = Type.Object(shown, { title: "Key" });
export const newKeySchema = Type.Object(
  {
    ...shown,
    key: Type.String({ description: "The secret, which requests send; no other answer has it." }),
  },
  { title: "NewKey" },
);
export const keyPageSchema = pageSchema(keySchema);

export function keyBody(key: AccessKey): Static<typeof keySchema> {
  return {
    id: key.id,
    name: key.name,
    entity: key.entity,
    owner: key.owner,
    role: key.role,
    scopes: key.scopes === null ? null : [...key.scopes],
    project: key.project,
    ...limitsBody(key),
    created_at: key.createdAt.toISOString(),
    expires_at: key.expiresAt?.toISOString() ?? null,
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
    former_secret_until: key.previous?.until.toISOString() ?? null,
    revoked_at: key.revokedAt?.toISOString() ?? null,
  };
}
