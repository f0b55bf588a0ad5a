{{/* The beginning of the names of all objects: feed-operator, if the release is called so. */}}
{{- define "feed-operator.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What tells the pods of this release from all others. A Deployment cannot change it. */}}
{{- define "feed-operator.selector" -}}
app.kubernetes.io/name: feed-operator
app.kubernetes.io/instance: {{ toYaml .Release.Name }}
app.kubernetes.io/component: manager
{{- end -}}

{{- define "feed-operator.labels" -}}
app.kubernetes.io/name: feed-operator
app.kubernetes.io/part-of: feed-operator
app.kubernetes.io/instance: {{ toYaml .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "feed-operator.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (printf "%s-manager" (include "feed-operator.fullname" .)) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.create=false needs serviceAccount.name: the ServiceAccount default would give the operator's permissions to every pod of the namespace that names none" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "feed-operator.subject" -}}
- kind: ServiceAccount
  name: {{ include "feed-operator.serviceAccount" . | toYaml }}
  namespace: {{ toYaml .Release.Namespace }}
{{- end -}}

{{- define "feed-operator.image" -}}
{{- .Values.image.repository -}}
{{- if .Values.image.digest -}}
@{{ .Values.image.digest }}
{{- else -}}
:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end -}}

{{/*
The rules of a role that config/rbac has, as YAML. It is given the chart's files, the name of the file, and groups of the API: without them all rules, with
"only" those of these groups, with "but" those of all others.
*/}}
{{- define "feed-operator.rules" -}}
{{- $role := .files.Get (printf "files/rbac/%s" .file) | fromYaml -}}
{{- $rules := list -}}
{{- range $rule := $role.rules -}}
{{- $group := first (default (list "") $rule.apiGroups) -}}
{{- if and (or (not $.only) (has $group $.only)) (not (has $group (default list $.but))) -}}
{{- $rules = append $rules $rule -}}
{{- end -}}
{{- end -}}
{{- toYaml $rules -}}
{{- end -}}
