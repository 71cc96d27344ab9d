// Keeps the visitor's id in a cookie of this app alone, for the longest time that browsers allow.
export default function ({ data, setStateValue }) {
  const kept = document.cookie
    .split("; ")
    .map((pair) => pair.split("="))
    .find(([name, value]) => name === data.name && /^[\w-]{32}$/.test(value));
  const id = kept ? kept[1] : data.id;
  document.cookie = `${data.name}=${id}; path=/; max-age=34560000; SameSite=Strict`;
  if (id !== data.id) setStateValue("id", id);
}
