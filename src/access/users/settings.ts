// Settings for users who have no API key, because they sign in through the operator's own identity provider.
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const schema = {
  header: {
    kind: "text",
    default: null,
    about:
      "Header in which a reverse proxy sends the name of the signed-in user, such as `X-Forwarded-User`. It is accepted only from `users.proxies`.",
  },
  groupsHeader: {
    kind: "text",
    default: null,
    about:
      "Header in which the proxy sends the names of the user's groups, comma-separated, such as `X-Forwarded-Groups`.",
  },
  proxies: {
    kind: "list",
    default: [],
    about: "Addresses or networks of trusted reverse proxies, such as `127.0.0.1` or `10.0.0.0/8`.",
  },
  issuer: {
    kind: "text",
    default: null,
    about:
      "OpenID Connect issuer whose tokens are accepted instead of API keys, such as `https://login.example.com/realms/team`.",
  },
  audience: {
    kind: "text",
    default: null,
    about:
      "Audience (`aud`) that the issuer's tokens must have: the client id under which the issuer knows this server.",
  },
  tokenHeader: {
    kind: "text",
    default: null,
    about:
      "Header in which a proxy forwards the issuer's token, such as `X-Forwarded-Access-Token`. Hone also accepts such tokens in place of API keys.",
  },
  nameClaim: {
    kind: "text",
    default: "email",
    about: "Token claim that contains the user's name, such as `email`, `preferred_username` or `sub`.",
  },
  groupsClaim: {
    kind: "text",
    default: "groups",
    about: "Token claim that contains the user's groups, as a list of strings or as one string.",
  },
  groups: {
    kind: "list",
    default: [],
    about:
      "Access of user groups: `group=entity` makes the group's users members of the entity, `group=*` makes them administrators. The first entry that matches one of the user's groups applies; a user who is in none of these groups is refused. If empty, every signed-in user is a member of `server.entity`.",
  },
} as const satisfies SettingsSchema;

export const userSettings = section(schema);

export type UserSettings = SettingsIn<typeof userSettings>;
