/** A token (RFC 9110 5.6.2), such as the name of a header, as the source of a regular expression. */
export const TOKEN = /[\w!#$%&'*+\-.^`|~]+/.source;
