// Who is let in without a key: the people that an operator's own sign-in knows.
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const schema = {
  header: {
    kind: "text",
    default: null,
    about:
      "Header in which a reverse proxy names the user that it has signed in, such as `X-Forwarded-User`; believed from `users.proxies` alone.",
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
    about: "Addresses of the proxies whose headers are believed, such as `127.0.0.1` or `10.0.0.0/8`.",
  },
  issuer: {
    kind: "text",
    default: null,
    about:
      "OpenID Connect issuer whose tokens are taken in the place of keys, such as `https://login.example.com/realms/team`.",
  },
  audience: {
    kind: "text",
    default: null,
    about:
      "Whom the issuer's tokens have to be for (`aud`): the client's id, as the issuer knows this server.",
  },
  tokenHeader: {
    kind: "text",
    default: null,
    about:
      "Header in which a proxy passes the token on, such as `X-Forwarded-Access-Token`; besides, it may stand in the place of a key.",
  },
  nameClaim: {
    kind: "text",
    default: "email",
    about: "Claim of the token that names the user: `email`, `preferred_username`, `sub`.",
  },
  groupsClaim: {
    kind: "text",
    default: "groups",
    about: "Claim of the token with the user's groups, a list of texts or one text.",
  },
  groups: {
    kind: "list",
    default: [],
    about:
      "What members of a group reach, as `group=entity`, or `group=*` for administrators; the first that fits a user counts, and whom none fits is refused. Unless given, everybody who is signed in is a member of `server.entity`.",
  },
} as const satisfies SettingsSchema;

export const userSettings = section(schema);

export type UserSettings = SettingsIn<typeof userSettings>;
