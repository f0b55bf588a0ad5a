{{- define "gvDetails" -}}
{{- $gv := . -}}
The kinds of `{{ $gv.GroupVersionString }}` are
{{- range $i, $kind := $gv.SortedKinds }}{{ if $i }},{{ end }} {{ $gv.TypeForKind $kind | markdownRenderTypeLink }}{{ end }}.
{{ range $gv.SortedTypes }}
{{- template "type" . -}}
{{ end }}
{{- end -}}
