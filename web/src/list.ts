/** A list of the result; absent and null are the same as empty. */
export function list<T>(items: T[] | null | undefined): T[] {
  return items ?? [];
}
