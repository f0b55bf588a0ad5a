// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// UserConfig makes a user of the cluster. What the user may do is up to RBAC.
func (c *Cluster) UserConfig(name string, groups ...string) (*rest.Config, error) {
	identity, err := c.clients.client(name, groups...)
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host: c.endpoint,
		TLSClientConfig: rest.TLSClientConfig{
			CAData:   encode(c.clients.certificate.Raw),
			CertData: identity.certificate,
			KeyData:  identity.key,
		},
	}, nil
}

// WriteKubeconfig writes a user's configuration to a file in the folder of the cluster, readable
// by its owner only, and returns the path.
func (c *Cluster) WriteKubeconfig(name string, user *rest.Config) (string, error) {
	path := filepath.Join(c.dir, name)
	return path, writeKubeconfig(path, user)
}

func writeKubeconfig(path string, user *rest.Config) error {
	const name = "feed-operator-dev"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: user.Host, CertificateAuthorityData: user.CAData}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: user.CertData, ClientKeyData: user.KeyData}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: "default"}
	config.CurrentContext = name
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	return nil
}
