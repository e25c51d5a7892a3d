// Settings for signing in without an API key, with the operator's own identity provider.
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const schema = {
  header: {
    kind: "text",
    default: null,
    about:
      "Header in which a reverse proxy names the signed-in user, such as `X-Forwarded-User`; accepted only from `users.proxies`.",
  },
  groupsHeader: {
    kind: "text",
    default: null,
    about:
      "Header in which the proxy names the user's groups, comma-separated, such as `X-Forwarded-Groups`.",
  },
  proxies: {
    kind: "list",
    default: [],
    about: "Addresses of trusted proxies, such as `127.0.0.1` or `10.0.0.0/8`.",
  },
  issuer: {
    kind: "text",
    default: null,
    about:
      "OpenID Connect issuer whose tokens are accepted instead of keys, such as `https://login.example.com/realms/team`.",
  },
  audience: {
    kind: "text",
    default: null,
    about:
      "Required audience (`aud`) of the issuer's tokens: the client id that the issuer has for this server.",
  },
  tokenHeader: {
    kind: "text",
    default: null,
    about:
      "Header in which a proxy forwards the token, such as `X-Forwarded-Access-Token`; tokens are also accepted in place of a key.",
  },
  nameClaim: {
    kind: "text",
    default: "email",
    about: "Token claim with the user's name: `email`, `preferred_username`, `sub`.",
  },
  groupsClaim: {
    kind: "text",
    default: "groups",
    about: "Token claim with the user's groups: a list of strings, or one string.",
  },
  groups: {
    kind: "list",
    default: [],
    about:
      "Access of each group: `group=entity`, or `group=*` for administrators. The first match counts; a user without a match is refused. If empty, every signed-in user is a member of `server.entity`.",
  },
} as const satisfies SettingsSchema;

export const userSettings = section(schema);

export type UserSettings = SettingsIn<typeof userSettings>;
