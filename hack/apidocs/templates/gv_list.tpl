{{- define "gvList" -}}
# The reference of the API

[api.md](api.md) says what the values mean, with examples. This page lists each field, as `kubectl explain` does. It is made of the comments in
`api/v1alpha1` by `make generate`.
{{ range . }}
{{ template "gvDetails" . }}
{{ end }}
{{- end -}}
