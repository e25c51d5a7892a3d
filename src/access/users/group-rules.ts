// Determines the permissions of a signed-in user from the user's groups. The operator configures which entity each
// group may access.
import type { Caller } from "../../base/domain/access.ts";
import { cut, invalid, quoted, ServiceError } from "../../base/domain/service-error.ts";
import { isPlainPart } from "../../inference/models/registry/model-name.ts";

/** A user whom a proxy or a token has identified. */
export interface SignedInUser {
  readonly name: string;
  readonly groups: readonly string[];
}

/** One parsed line of the setting `users.groups`. */
interface GroupRule {
  readonly group: string;
  /** Entity that users of the group may access; null if they are administrators. */
  readonly entity: string | null;
}

/** Maximum length of a user name, the same as for the owner of a key. */
const nameLengthMax = 128;

/**
 * Parses lines of the form `group=entity` or `group=*`.
 *
 * @throws ServiceError `invalid` for any other line
 */
export function readGroupRules(lines: readonly string[]): readonly GroupRule[] {
  return lines.map((line) => {
    // Group names (as in LDAP) may contain "=", so the last "=" separates group and entity.
    const place = line.lastIndexOf("=");
    const [group, entity] = [line.slice(0, place).trim(), line.slice(place + 1).trim()];
    if (place < 0 || group === "" || !(entity === "*" || isPlainPart(entity)))
      throw invalid(
        `users.groups has ${quoted(line)}; each must be group=entity, or group=* for administrators.`,
      );
    return { group, entity: entity === "*" ? null : entity };
  });
}

/**
 * Returns the caller for a signed-in user. The caller's key id is `user:<name>`, which no real key has, so limits,
 * usage and the audit log apply to each user separately.
 *
 * @param defaultEntity entity of users if there are no rules
 * @throws ServiceError `forbidden` if no rule matches the user
 */
export function callerOf(user: SignedInUser, rules: readonly GroupRule[], defaultEntity: string): Caller {
  const rule =
    rules.length === 0 ? { entity: defaultEntity } : rules.find(({ group }) => user.groups.includes(group));
  if (rule === undefined)
    throw new ServiceError({
      code: "forbidden",
      message: `The user ${quoted(cut(user.name, nameLengthMax))} is in no group that users.groups of this server names.`,
    });
  return {
    keyId: `user:${user.name}`,
    entity: rule.entity ?? defaultEntity,
    role: rule.entity === null ? "admin" : "member",
    owner: user.name,
    scopes: null,
    project: null,
  };
}

/** True if the text is a valid user name. The rules are those for the owner of a key. */
export function isUserName(name: unknown): name is string {
  return (
    typeof name === "string" &&
    name.trim() !== "" &&
    name.length <= nameLengthMax &&
    // Refuses control characters and unassigned code points, which a header may contain but a user name may not.
    !/\p{C}/u.test(name)
  );
}
